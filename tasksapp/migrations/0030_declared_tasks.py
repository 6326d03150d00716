"""Biz types say which task the project's code has declared for them."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("tasksapp", "0029_keys_that_run"),
    ]

    operations = [
        migrations.AddField(
            model_name='biztype',
            name='declared',
            field=models.JSONField(blank=True, editable=False, help_text="What the project's code says of its task: its name, its queue, its attempts.", null=True, verbose_name='declared'),
        ),
    ]
