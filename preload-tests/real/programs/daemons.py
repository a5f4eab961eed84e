# The interpreter ends while daemon threads still allocate.
import atexit
import threading
import time


def busy():
    x = []
    while True:
        x.append(bytearray(500))
        if len(x) > 1000:
            x.clear()


for _ in range(4):
    threading.Thread(target=busy, daemon=True).start()
time.sleep(0.2)
atexit.register(print, "last words")
print("leaving", threading.active_count())
