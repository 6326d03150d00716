"""Biz types count the changes of their rows, so that the gates in Redis can say which state they were made from."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("tasksapp", "0030_declared_tasks"),
    ]

    operations = [
        migrations.AddField(
            model_name='biztype',
            name='revision',
            field=models.PositiveBigIntegerField(db_default=1, default=1, editable=False, verbose_name='revision'),
        ),
    ]
