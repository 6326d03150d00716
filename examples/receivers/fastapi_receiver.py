"""A receiver of callbacks in FastAPI, with SQLAlchemy: serve ``app`` by any ASGI server."""

import os
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request, Response
from sqlalchemy import Column, Integer, MetaData, Table, insert
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine

from delayhub.receiver import ReceivedCallback, Verifier, once
from delayhub.receiver.sqlalchemy import AsyncSessionInbox, inbox_table

metadata = MetaData()
closed = Table("closed", metadata, Column("number", Integer))
inbox_table(metadata)

engine = create_async_engine(f"sqlite+aiosqlite:///{os.environ['ORDERS']}")
inbox = AsyncSessionInbox(async_sessionmaker(engine))
verifier = Verifier(os.environ["DELAYHUB_SECRET"])


@asynccontextmanager
async def lifespan(app: FastAPI):
    """Makes the tables."""
    async with engine.begin() as connection:
        await connection.run_sync(metadata.create_all)
    yield
    await engine.dispose()


app = FastAPI(lifespan=lifespan)


@once(verifier, inbox)
async def close_order(callback: ReceivedCallback, session: AsyncSession) -> None:
    """Closes an order, in the transaction that notes the callback."""
    await session.execute(insert(closed).values(number=callback.json()["order"]))


@app.post("/hooks/order.close")
async def hook(request: Request) -> Response:
    """Hands the request to ``close_order``; its answer is sent after the commit."""
    answer = await close_order(request.headers.items(), await request.body())
    return Response(answer.body, answer.status, dict(answer.headers))
