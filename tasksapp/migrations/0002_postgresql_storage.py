"""Leaves room on the pages for the updates that every job gets, and vacuums before they pile up."""

from django.db import migrations

_SETTINGS = {
    "delayhub_job": (
        "fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02, "
        "autovacuum_vacuum_insert_scale_factor = 0.1"
    ),
    "delayhub_attempt": "autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05",
}


def tune(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        for table, settings in _SETTINGS.items():
            schema_editor.execute(f"ALTER TABLE {table} SET ({settings})")


class Migration(migrations.Migration):
    dependencies = [("tasksapp", "0001_initial")]

    operations = [migrations.RunPython(tune, migrations.RunPython.noop)]
