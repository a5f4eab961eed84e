"""Python's threads, started and joined one at a time; prints on stderr how long that took."""
import json
import sys
import threading
import time

done = []
start = time.monotonic()
for i in range(int(sys.argv[1])):
    t = threading.Thread(target=done.append, args=(i,))
    t.start()
    t.join()
took = time.monotonic() - start
if done != list(range(int(sys.argv[1]))):
    sys.exit("threads were lost")
print(json.dumps({"seconds": took}), file=sys.stderr)
print("done")
