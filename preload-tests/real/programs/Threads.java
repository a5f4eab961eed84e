// Threads under Java: stack sizes, overflows that are caught, pools, parallel
// streams, locks, direct buffers, interrupts, daemons and shutdown hooks.
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.LongStream;
import java.util.zip.CRC32;
import java.util.zip.Deflater;
import java.util.zip.Inflater;

public class Threads {
    static int depth(int n) { return depth(n + 1) + 1; }

    static boolean overflows() {
        try { return depth(0) < 0; } catch (StackOverflowError e) { return true; }
    }

    public static void main(String[] args) throws Exception {
        String job = args.length > 0 ? args[0] : "";
        if (job.equals("exit")) {
            Thread t = new Thread(() -> { System.out.println("leaving"); System.exit(3); });
            t.start();
            Thread.sleep(60000);
        }
        if (job.equals("full")) {
            System.out.println("filling");
            List<byte[]> all = new ArrayList<>();
            while (true) all.add(new byte[1 << 20]);
        }
        if (job.equals("term")) {
            Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook")));
            ProcessHandle.current();
            new ProcessBuilder("kill", "-TERM", "" + ProcessHandle.current().pid()).start();
            Thread.sleep(60000);
        }

        System.out.println("main overflows " + overflows());
        for (long size : new long[] {0, 144 << 10, 1 << 20, 64 << 20}) {
            boolean[] r = new boolean[1];
            Thread t = new Thread(null, () -> r[0] = overflows(), "s", size);
            t.start();
            t.join();
            System.out.println(size + " overflows " + r[0]);
        }

        for (int round = 0; round < 20; round++) {
            Thread[] ts = new Thread[20];
            AtomicLong n = new AtomicLong();
            for (int i = 0; i < ts.length; i++) {
                int x = i;
                ts[i] = new Thread(() -> n.addAndGet(new byte[x * 1000].length));
                ts[i].start();
            }
            for (Thread t : ts) t.join();
            if (n.get() != 190000) System.out.println("lost " + n);
        }

        ExecutorService pool = Executors.newFixedThreadPool(8);
        List<Future<Integer>> fs = new ArrayList<>();
        for (int i = 0; i < 500; i++) {
            int x = i;
            fs.add(pool.submit(() -> ("x".repeat(x) + x).hashCode()));
        }
        long sum = 0;
        for (Future<Integer> f : fs) sum += f.get();
        pool.shutdown();
        System.out.println("pool " + sum + " " + pool.awaitTermination(10, TimeUnit.SECONDS));
        System.out.println("stream " + LongStream.range(0, 2_000_000).parallel().map(x -> x * x % 97).sum());

        ConcurrentHashMap<String, Integer> map = new ConcurrentHashMap<>();
        Thread[] ts = new Thread[4];
        for (int i = 0; i < 4; i++) {
            ts[i] = new Thread(() -> { for (int k = 0; k < 20000; k++) map.merge("k" + k % 1000, 1, Integer::sum); });
            ts[i].start();
        }
        for (Thread t : ts) t.join();
        System.out.println("map " + map.size() + " " + map.values().stream().mapToInt(x -> x).sum());

        // Native memory: direct buffers and the compressor's own blocks, made in
        // one thread and dropped by the collector in another.
        SynchronousQueue<ByteBuffer> q = new SynchronousQueue<>();
        Thread maker = new Thread(() -> {
            try { for (int i = 0; i < 300; i++) q.put(ByteBuffer.allocateDirect(i * 500).put(0, i == 0 ? new byte[0] : new byte[] {1})); }
            catch (InterruptedException e) { System.out.println("interrupted"); }
        });
        maker.start();
        long bytes = 0;
        for (int i = 0; i < 300; i++) { bytes += q.take().capacity(); if (i % 100 == 0) System.gc(); }
        maker.join();
        System.out.println("direct " + bytes);
        byte[] data = "the same words again and again ".repeat(20000).getBytes();
        CRC32 crc = new CRC32();
        for (int i = 0; i < 20; i++) {
            Deflater d = new Deflater(i % 9 + 1);
            byte[] out = new byte[data.length], back = new byte[data.length];
            d.setInput(data);
            d.finish();
            int n = d.deflate(out);
            d.end();
            Inflater f = new Inflater();
            f.setInput(out, 0, n);
            f.inflate(back);
            f.end();
            crc.update(back);
        }
        System.out.println("zip " + crc.getValue());

        Thread sleeper = new Thread(() -> {
            try { Thread.sleep(60000); } catch (InterruptedException e) { System.out.println("woken"); }
        });
        sleeper.start();
        sleeper.interrupt();
        sleeper.join();
        Thread daemon = new Thread(() -> { while (true) new Object(); });
        daemon.setDaemon(true);
        daemon.start();
        Process p = new ProcessBuilder("echo", "sub").start();
        System.out.println(new String(p.getInputStream().readAllBytes()).trim() + " " + p.waitFor());
        System.out.println("end");
    }
}
