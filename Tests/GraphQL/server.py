#!/usr/bin/env python3
"""A GraphQL server of the Python library strawberry, with subscriptions over WebSocket (graphql-transport-ws).

    server.py [TOKEN]

Listens on a free loopback port, writes its URL to standard output, and runs until SIGTERM. Its fields have the names and the
results of the demo API's. With TOKEN, the payload of connection_init must have the member Authorization with this token;
otherwise the server closes with 4403.
"""

import asyncio
import signal
import sys
from collections.abc import AsyncGenerator
from typing import Annotated

import strawberry
from aiohttp import web
from strawberry.aiohttp.views import GraphQLView
from strawberry.exceptions import ConnectionRejectionError
from strawberry.subscriptions import GRAPHQL_TRANSPORT_WS_PROTOCOL

COMMENTS = 60

listeners = set()
comments = []


@strawberry.type
class Article:
    id: strawberry.ID


@strawberry.type
class Comment:
    id: strawberry.ID
    body: str
    article: Article


@strawberry.input
class CreateCommentInput:
    article_id: strawberry.ID
    author_id: strawberry.ID
    body: str


@strawberry.type
class Query:
    @strawberry.field
    def article(self, id: strawberry.ID) -> Article | None:
        return Article(id=id) if 1 <= int(id) <= 25 else None


@strawberry.type
class Mutation:
    @strawberry.mutation
    def create_comment(self, input: CreateCommentInput) -> Comment:
        comment = Comment(
            id=strawberry.ID(str(COMMENTS + len(comments) + 1)), body=input.body, article=Article(id=input.article_id))
        comments.append(comment)
        for queue in listeners:
            queue.put_nowait(comment)
        return comment


@strawberry.type
class Subscription:
    @strawberry.subscription
    async def countdown(
        self, first: Annotated[int, strawberry.argument(name="from")], delay: float = 0.01
    ) -> AsyncGenerator[int, None]:
        for number in range(first, -1, -1):
            yield number
            if number > 0:
                await asyncio.sleep(delay)

    @strawberry.subscription
    async def failing(self, after: int = 0) -> AsyncGenerator[int, None]:
        for number in range(after):
            yield number + 1
        raise ValueError("the subscription has failed")

    @strawberry.subscription
    async def comment_added(self, article_id: strawberry.ID | None = None) -> AsyncGenerator[Comment, None]:
        queue = asyncio.Queue()
        listeners.add(queue)
        try:
            while True:
                comment = await queue.get()
                if article_id in (None, comment.article.id):
                    yield comment
        finally:
            listeners.discard(queue)


class View(GraphQLView):
    token = None

    async def on_ws_connect(self, context):
        parameters = context["connection_params"] or {}
        if self.token is not None and parameters.get("Authorization") != f"Bearer {self.token}":
            raise ConnectionRejectionError
        return await super().on_ws_connect(context)


async def main():
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    View.token = sys.argv[1] if len(sys.argv) > 1 else None
    schema = strawberry.Schema(query=Query, mutation=Mutation, subscription=Subscription)
    app = web.Application()
    app.router.add_route("*", "/graphql", View(schema=schema, subscription_protocols=[GRAPHQL_TRANSPORT_WS_PROTOCOL]))
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
    await stopped.wait()


if __name__ == "__main__":
    asyncio.run(main())
