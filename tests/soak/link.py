"""A worker's way to the coordinator: a TCP proxy that can be cut, stalled and half-closed.

open: bytes pass. cut: what is connected is reset, and so is what comes. stall: nothing passes, closing included, and what was
held back comes late, as after a partition that TCP survived. half-close: one side hears an end that the other never said.
forget: what is connected stays so and carries nothing any more, as behind a router that was exchanged."""
import asyncio
import threading


class Connection:
    def __init__(self, link, reader, writer):
        self.link, self.near, self.far = link, (reader, writer), None
        self.deaf = set()  # directions in which nothing passes any more

    async def serve(self, port):
        try:
            self.far = await asyncio.open_connection("127.0.0.1", port())
        except OSError:
            return self.reset()
        await asyncio.gather(self.pump("up", self.near, self.far), self.pump("down", self.far, self.near))

    async def pump(self, direction, source, sink):
        try:
            while data := await source[0].read(65536):
                await self.link.flow[direction].wait()
                if direction not in self.deaf:
                    sink[1].write(data)
                    await sink[1].drain()
            await self.link.flow[direction].wait()
            if direction not in self.deaf:
                sink[1].write_eof()
        except OSError:
            await self.link.flow[direction].wait()
            self.reset()

    def reset(self):
        for end in (self.near, self.far):
            if end is not None:
                end[1].transport.abort()

    def half_close(self, direction):
        if self.far is None:
            return
        self.deaf.add(direction)
        sink = self.far if direction == "up" else self.near
        try:
            sink[1].write_eof()
        except OSError:
            self.reset()


class Link:
    def __init__(self, loop, port):
        self.loop, self.target, self.connections, self.refusing = loop, port, set(), False
        self.port = asyncio.run_coroutine_threadsafe(self.listen(), loop).result(10)

    async def listen(self):
        self.flow = {direction: asyncio.Event() for direction in ("up", "down")}
        for event in self.flow.values():
            event.set()
        self.server = await asyncio.start_server(self.accept, "127.0.0.1", 0)
        return self.server.sockets[0].getsockname()[1]

    async def accept(self, reader, writer):
        connection = Connection(self, reader, writer)
        if self.refusing:
            return connection.reset()
        self.connections.add(connection)
        try:
            await connection.serve(self.target)
        finally:
            self.connections.discard(connection)
            connection.reset()

    def do(self, what, *arguments):
        self.loop.call_soon_threadsafe(what, *arguments)

    def cut(self):
        def now():
            self.refusing = True
            for connection in list(self.connections):
                connection.reset()
        self.do(now)

    def mend(self):
        def now():
            self.refusing = False
            for event in self.flow.values():
                event.set()
        self.do(now)

    def stall(self, directions):
        self.do(lambda: [self.flow[direction].clear() for direction in directions])

    def half_close(self, direction):
        self.do(lambda: [connection.half_close(direction) for connection in list(self.connections)])


    def forget(self):
        self.do(lambda: [connection.deaf.update(("up", "down")) for connection in list(self.connections)])


def start_loop():
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    return loop
