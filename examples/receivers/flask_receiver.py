"""A receiver of callbacks in Flask, with sqlite3 alone: serve ``app`` by any WSGI server."""

import os
import sqlite3

from flask import Flask, Response, request

from delayhub.receiver import ReceivedCallback, Verifier, once
from delayhub.receiver.dbapi import ConnectionInbox


def connect() -> sqlite3.Connection:
    """A connection for one callback."""
    return sqlite3.connect(os.environ["ORDERS"])


app = Flask(__name__)
inbox = ConnectionInbox(connect)
inbox.create_table()
verifier = Verifier(os.environ["DELAYHUB_SECRET"])


@once(verifier, inbox)
def close_order(callback: ReceivedCallback, connection: sqlite3.Connection) -> None:
    """Closes an order, in the transaction that notes the callback."""
    connection.execute("CREATE TABLE IF NOT EXISTS closed (number integer)")
    connection.execute("INSERT INTO closed (number) VALUES (?)", [callback.json()["order"]])


@app.post("/hooks/order.close")
def hook() -> Response:
    """Hands the request to ``close_order``; its answer is sent after the commit."""
    answer = close_order(request.headers.items(), request.get_data())
    return Response(answer.body, answer.status, list(answer.headers.items()))
