#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Passes the connections of one address and port on to a port of loopback: the address of the service `kubernetes`,
which kube-proxy makes on other clusters. Octets pass as they are; TLS is that of both ends.

    forward.py ADDRESS PORT TARGET_PORT
"""
import asyncio
import sys

CHUNK = 65536


async def copy(reader, writer):
    """One direction, until its end."""
    try:
        while data := await reader.read(CHUNK):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


async def main():
    """Serves until it is ended."""
    address, port, target = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

    async def serve(reader, writer):
        try:
            there = await asyncio.open_connection("127.0.0.1", target)
        except OSError:
            writer.close()
            return
        await asyncio.gather(copy(reader, there[1]), copy(there[0], writer))

    server = await asyncio.start_server(serve, address, port)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
