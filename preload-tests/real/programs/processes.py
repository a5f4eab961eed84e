# multiprocessing by the start method given, with threads of the parent busy on
# the heap at the moment of the fork.
import multiprocessing
import subprocess
import sys
import threading


def square(x):
    return sum([x] * x)


def talk(conn):
    conn.send([str(i) for i in range(1000)])
    print(len(conn.recv()), flush=True)
    conn.close()


if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[1])
    # The noise must not starve the thread that does the work.
    sys.setswitchinterval(0.0002)
    stop = threading.Event()

    def busy():
        while not stop.is_set():
            [bytearray(i) for i in range(0, 4000, 37)]

    noise = [threading.Thread(target=busy) for _ in range(2)]
    for t in noise:
        t.start()
    with multiprocessing.Pool(3) as pool:
        print(sum(pool.map(square, range(300))))
    here, there = multiprocessing.Pipe()
    p = multiprocessing.Process(target=talk, args=(there,))
    p.start()
    print(len(here.recv()))
    here.send(b"x" * 200000)
    p.join()
    print(p.exitcode)
    for _ in range(10):
        r = subprocess.run(["echo", "sub"], capture_output=True, text=True)
        assert r.stdout == "sub\n", r
    stop.set()
    for t in noise:
        t.join()
    print("end", threading.active_count())
