# asyncio over a thread pool: futures made in one thread and ended in another.
import asyncio
import concurrent.futures


def work(n):
    return sum(len(str(i)) for i in range(n))


async def main():
    loop = asyncio.get_running_loop()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        r = await asyncio.gather(*(loop.run_in_executor(pool, work, i * 10) for i in range(200)))
    print(len(r), sum(r))
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    print(sum(await asyncio.gather(*(ask(port, i) for i in range(50)))))
    p = await asyncio.create_subprocess_exec("seq", "3", stdout=asyncio.subprocess.PIPE)
    print((await p.communicate())[0])
    server.close()


async def echo(reader, writer):
    writer.write(await reader.readexactly(int(await reader.readline())))
    await writer.drain()
    writer.close()


async def ask(port, i):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"%d\n" % (i * 1000) + b"x" * (i * 1000))
    got = await reader.read(-1)
    writer.close()
    return len(got)


asyncio.run(main())
