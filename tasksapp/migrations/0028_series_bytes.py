from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('tasksapp', '0027_bytes'),
    ]

    operations = [
        migrations.AddField(
            model_name='series',
            name='raw',
            field=models.BinaryField(blank=True, help_text='The body of its jobs that is no JSON, byte for byte; empty: the body is JSON.', null=True, verbose_name='exact bytes'),
        ),
    ]
