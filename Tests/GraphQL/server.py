"""A GraphQL server (Strawberry over aiohttp) on a free port of 127.0.0.1, whose origin it prints.

The first connection with the query item `drop` is lost after this number of results. `/connections` is the number of
WebSockets that were opened.
"""
import asyncio
import enum
from typing import AsyncGenerator, Iterable

import strawberry
from aiohttp import web
from strawberry import relay
from strawberry.aiohttp.views import GraphQLView
from strawberry.subscriptions import GRAPHQL_TRANSPORT_WS_PROTOCOL

connections = 0
has_dropped = False
notes = []


@strawberry.enum
class Size(enum.Enum):
    SMALL = "small"
    LARGE = "large"


@strawberry.type
class Fruit(relay.Node):
    id: relay.NodeID[int]
    name: str

    @strawberry.field
    def secret(self) -> str | None:
        raise Exception("the secret cannot be read")


@strawberry.input
class NoteInput:
    text: str
    size: Size = Size.SMALL


@strawberry.type
class Query:
    @strawberry.field
    def fruit(self, id: strawberry.ID) -> Fruit | None:
        return Fruit(id=int(id), name=f"fruit {id}") if int(id) < 30 else None

    @relay.connection(relay.ListConnection[Fruit])
    def fruits(self) -> Iterable[Fruit]:
        return [Fruit(id=number, name=f"fruit {number}") for number in range(30)]

    @strawberry.field
    def notes(self) -> list[str]:
        return notes


@strawberry.type
class Mutation:
    @strawberry.mutation
    def add_note(self, input: NoteInput) -> int:
        notes.append(f"{input.text} {input.size.value}")
        return len(notes)


@strawberry.type
class Subscription:
    @strawberry.subscription
    async def count(self, info: strawberry.Info, to: int) -> AsyncGenerator[int, None]:
        drop = int(info.context["request"].query.get("drop", "0"))
        global has_dropped
        for number in range(1, to + 1):
            if number > drop > 0 and not has_dropped:
                has_dropped = True
                info.context["request"].transport.abort()
                return
            yield number
            await asyncio.sleep(0.005)

    @strawberry.subscription
    async def failing(self) -> AsyncGenerator[int, None]:
        yield 1
        raise Exception("the source is gone")

    @strawberry.subscription
    async def authorization(self, info: strawberry.Info) -> AsyncGenerator[str, None]:
        yield str((info.context["connection_params"] or {}).get("Authorization"))


@web.middleware
async def count_connections(request, handler):
    global connections
    if request.headers.get("Upgrade", "").lower() == "websocket":
        connections += 1
    return await handler(request)


async def main():
    app = web.Application(middlewares=[count_connections])
    schema = strawberry.Schema(query=Query, mutation=Mutation, subscription=Subscription)
    view = GraphQLView(schema=schema, subscription_protocols=[GRAPHQL_TRANSPORT_WS_PROTOCOL], allow_queries_via_get=True)
    app.router.add_route("*", "/graphql", view)

    async def connection_count(request):
        return web.json_response(connections)

    app.router.add_get("/connections", connection_count)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print("http://127.0.0.1:%d" % site._server.sockets[0].getsockname()[1], flush=True)
    await asyncio.Event().wait()


asyncio.run(main())
