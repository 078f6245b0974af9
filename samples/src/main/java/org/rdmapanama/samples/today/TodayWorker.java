package org.rdmapanama.samples.today;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Arrays;
import java.util.zip.CRC32C;
import org.rdmapanama.samples.IoCounts;
import org.rdmapanama.samples.TestPattern;

/**
 * One of the two processes between which data moves. It reads commands from standard input, one per line, and reports
 * on standard output when each is done; {@link Worker} is the other end of both. It ends with its parent.
 */
public final class TodayWorker {
    private static final long SEED = 42;
    private static final byte STALE = 0x5a;

    private final boolean sends;
    private final InetAddress address;
    private final Duration limit;
    private final Path file;
    private final MemorySegment memory;
    private Job job;
    private Counting counting;

    private TodayWorker(String... arguments) throws IOException {
        sends = arguments[0].equals("send");
        address = InetAddress.getByName(arguments[1]);
        long size = Long.parseLong(arguments[2]);
        limit = Duration.ofSeconds(Long.parseLong(arguments[3]));
        file = sends ? Path.of(arguments[4]) : null;
        // Lives as long as the process, because the regions of each connection come and go.
        memory = Arena.global().allocate(size, 4096);
    }

    /**
     * Runs until the parent closes standard input.
     *
     * @param arguments {@code send} or {@code receive}, an address of this machine, the size in bytes, the time to wait
     *     for
     *     the other side, in seconds, and, for {@code send}, the file
     */
    public static void main(String[] arguments) {
        ProcessHandle parent = ProcessHandle.current().parent().orElseThrow();
        Thread.ofPlatform().daemon().name("parent").start(() -> {
            parent.onExit().join();
            Runtime.getRuntime().halt(1);
        });
        int status = 0;
        try {
            new TodayWorker(arguments).serve();
        } catch (IOException | RuntimeException | InterruptedException e) {
            say("failed " + (e.getMessage() == null ? e : e.getMessage()));
            status = 1;
        }
        System.exit(status);
    }

    private static void say(String line) {
        System.out.println(line.strip().replaceAll("\\s*\\R\\s*", " "));
        System.out.flush();
    }

    private void serve() throws IOException, InterruptedException {
        if (sends) {
            TestPattern.fill(memory, SEED, () -> {});
            try (FileChannel channel =
                    FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
                ByteBuffer all = memory.asByteBuffer();
                while (all.hasRemaining()) {
                    channel.write(all);
                }
                // Direct I/O would otherwise begin with writing the file to the disk.
                channel.force(false);
            } catch (IOException e) {
                throw new IOException(
                        "cannot write " + file + ": " + e.getMessage() + ": name another directory with --file", e);
            }
        }
        say("ready " + (sends ? DirectFile.obstacle(file, TcpSending.BUFFER) : ""));
        try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String[] words = line.strip().split(" ", -1);
                obey(words[0], Arrays.copyOfRange(words, 1, words.length));
            }
        }
    }

    private void obey(String command, String... words) throws IOException, InterruptedException {
        switch (command) {
            case "prepare" -> {
                TransferMethod way = TransferMethod.valueOf(words[0]);
                job = sends ? sending(way, Integer.parseInt(words[1]), words[2]) : receiving(way);
                counting = new Counting(IoCounts.OF_PROCESS);
                say("ready " + job.words());
            }
            case "go" -> {
                counting.start();
                long start = System.nanoTime();
                job.run(words);
                long nanos = System.nanoTime() - start;
                counting.stop();
                say("done " + nanos);
            }
            case "check" -> {
                Counts counts = counting.finish();
                job.close();
                CRC32C sum = new CRC32C();
                sum.update(memory.asByteBuffer());
                say("sum " + Long.toHexString(sum.getValue()) + " " + counts.words());
            }
            default -> throw new IllegalArgumentException("unknown command '" + command + "'");
        }
    }

    private Job sending(TransferMethod way, int port, String host) throws IOException, InterruptedException {
        InetSocketAddress to = new InetSocketAddress(host, port);
        return way.isRdma()
                ? new RdmaSending(way, file, address, to, limit)
                : new TcpSending(way, memory, file, address, to);
    }

    private Job receiving(TransferMethod way) throws IOException, InterruptedException {
        // Memory that is not written again shows up as zeros.
        memory.fill(STALE);
        return way.isRdma()
                ? new RdmaReceiving(memory, address, limit, port -> say("listening " + port))
                : new TcpReceiving(memory, address, limit, port -> say("listening " + port));
    }
}
