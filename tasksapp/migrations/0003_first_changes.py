"""Scopes of biz types are written as the paths of the API are, ``biz-types:read``; keys say where their tenant is."""

import tasksapp.models.api_key
from django.db import migrations, models


def renamed(before, after):
    def rename(apps, schema_editor):
        keys = apps.get_model("tasksapp", "ApiKey").objects.using(schema_editor.connection.alias)
        for key in keys.only("scopes"):
            scopes = [after + scope.removeprefix(before) if scope.startswith(before) else scope for scope in key.scopes]
            if scopes != key.scopes:
                keys.filter(pk=key.pk).update(scopes=scopes)

    return rename


class Migration(migrations.Migration):

    dependencies = [
        ("tasksapp", "0002_first_rows"),
    ]

    operations = [
        migrations.AlterField(
            model_name='apikey',
            name='scopes',
            field=models.JSONField(db_default=['jobs:read', 'jobs:write', 'jobs:act', 'biz-types:read'], default=tasksapp.models.api_key.usual_scopes, verbose_name='scopes'),
        ),
        migrations.RunPython(renamed("biz_types:", "biz-types:"), renamed("biz-types:", "biz_types:")),
        migrations.AddField(
            model_name='apikey',
            name='moved_to',
            field=models.CharField(blank=True, db_default='', default='', editable=False, max_length=300),
        ),
    ]
