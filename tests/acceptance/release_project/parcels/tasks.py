"""Its tasks: the new release has renamed one and moved it to another queue, and removed the other one."""

import os
from pathlib import Path

from delayhub import delayed_task

FOLDER = Path(os.environ["PARCELS_DATABASE"]).parent

if os.environ["PARCELS_RELEASE"] == "old":

    @delayed_task(biz_type="parcel.send", name="parcels.send", queue="parcels")
    def send(name: str) -> None:
        (FOLDER / f"{name}.old").touch()

    @delayed_task(biz_type="parcel.weigh", name="parcels.weigh", queue="parcels")
    def weigh(name: str) -> None:
        (FOLDER / f"{name}.weighed").touch()

else:

    @delayed_task(biz_type="parcel.send", name="parcels.ship", aliases=["parcels.send"], queue="shipping")
    def send(name: str) -> None:
        (FOLDER / f"{name}.new").touch()
