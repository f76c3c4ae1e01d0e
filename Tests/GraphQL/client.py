#!/usr/bin/env python3
"""Checks a server of GraphQL subscriptions over WebSocket with the Python library gql.

    client.py ORIGIN                the demo API or server.py
    client.py ORIGIN demo           also the faults of the demo API

Exits with status 1 after the first unexpected result.
"""

import asyncio
import sys

from gql import Client, gql
from gql.transport.exceptions import TransportConnectionFailed, TransportQueryError
from gql.transport.websockets import WebsocketsTransport
from websockets.exceptions import ConnectionClosed

CREATE = 'mutation { createComment(input: {articleId: "1", authorId: "1", body: "%s"}) { body } }'
COMMENTS = "subscription { commentAdded(articleId: 1) { body article { id } } }"


def expect(name, actual, expected):
    if actual != expected:
        sys.exit(f"client.py: {name}: {actual!r}, expected {expected!r}")


def connect(origin, query="", **options):
    url = f"{origin.replace('http', 'ws', 1)}/graphql{query}"
    transport = WebsocketsTransport(url=url, subprotocols=[WebsocketsTransport.GRAPHQLWS_SUBPROTOCOL], **options)
    return Client(transport=transport, fetch_schema_from_transport=not query)


async def receive(session, text):
    """Returns the results of a subscription, and the last error if there is one."""
    results = []
    try:
        async for result in session.subscribe(gql(text)):
            results.append(result)
    except (TransportQueryError, TransportConnectionFailed) as error:
        results.append(error)
    return results


async def check_operations(origin):
    async with connect(origin) as session:
        schema = session.client.schema
        expect("schema", sorted(schema.subscription_type.fields), ["commentAdded", "countdown", "failing"])
        expect("query", await session.execute(gql("{ article(id: 3) { id } }")), {"article": {"id": "3"}})
        expected = [{"countdown": number} for number in (2, 1, 0)]
        expect("countdown", await receive(session, "subscription { countdown(from: 2) }"), expected)
        several = await asyncio.gather(*(receive(session, "subscription { countdown(from: 2) }") for _ in range(20)))
        expect("several subscriptions", several, [expected] * 20)
        results = await receive(session, "subscription { failing(after: 1) }")
        expect("results before an error", results[:-1], [{"failing": 1}])
        expect("error", "the subscription has failed" in str(results[-1]), True)
        await check_comments(session)


async def check_comments(session):
    received = asyncio.Queue()

    async def listen():
        async for result in session.subscribe(gql(COMMENTS)):
            await received.put(result["commentAdded"])

    listener = asyncio.ensure_future(listen())
    # The server may start the subscription after a mutation, so mutations are sent until an event arrives.
    while received.empty():
        await session.execute(gql(CREATE % "hello"))
        await asyncio.sleep(0)
    expect("comment", await received.get(), {"body": "hello", "article": {"id": "1"}})
    listener.cancel()
    await asyncio.gather(listener, return_exceptions=True)


async def check_faults(origin):
    for query, code in (("?close_after=2&code=4500", 4500), ("?drop_after=2", 1006), ("?token=required", 4403)):
        try:
            async with connect(origin, query) as session:
                results = await receive(session, "subscription { countdown(from: 5) }")
                expect(query, results[:-1], [{"countdown": 5}, {"countdown": 4}])
                error = results[-1]
        except TransportConnectionFailed as failure:
            error = failure
        cause = error.__cause__
        expect(f"{query}: the cause", isinstance(cause, ConnectionClosed), True)
        expect(f"{query}: the code", cause.rcvd.code if cause.rcvd else 1006, code)
    async with connect(origin, "?echo_payload=1", init_payload={"a": 1}) as session:
        expect("echo_payload", session.transport.payloads["connection_ack"], {"a": 1})


async def main(origin, *names):
    await check_operations(origin)
    if names:
        await check_faults(origin)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: client.py ORIGIN [demo]")
    asyncio.run(asyncio.wait_for(main(*sys.argv[1:]), 60))
