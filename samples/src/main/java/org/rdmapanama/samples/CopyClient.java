package org.rdmapanama.samples;

import java.io.IOException;
import java.io.PrintWriter;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** The side of rcopy that sends a file. Threads: one at a time. */
final class CopyClient {
    private static final int MODE = 0644;
    private static final long CHUNK = 1 << 20;

    private final CopyStream stream;
    private final PrintWriter err;

    CopyClient(CopyStream stream, PrintWriter err) {
        this.stream = stream;
        this.err = err;
    }

    /** Copies a file to the peer under a name, and returns the number of bytes. */
    long copy(Path file, String name) throws IOException, InterruptedException {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ);
                Arena arena = Arena.ofConfined()) {
            long size = Files.size(file);
            stream.send(CopyMessage.open(name, MODE));
            check(CopyMessage.OPEN, "open " + name);
            stream.send(CopyMessage.write(size));
            send(channel.map(FileChannel.MapMode.READ_ONLY, 0, size, arena));
            check(CopyMessage.WRITE, "write " + name);
            stream.send(CopyMessage.close());
            check(CopyMessage.CLOSE, "close " + name);
            return size;
        }
    }

    private void send(MemorySegment content) throws IOException, InterruptedException {
        long size = content.byteSize();
        ProgressBar progress = new ProgressBar(err, "COPY", size, ProgressBar.onTerminal(), System.nanoTime());
        long done = 0;
        try {
            while (done < size) {
                done += stream.sendSome(content.asSlice(done, Math.min(CHUNK, size - done)));
                progress.show(done, System.nanoTime());
            }
        } finally {
            if (done < size) {
                progress.abort();
            }
        }
        progress.finish(System.nanoTime());
    }

    private void check(int command, String doing) throws IOException, InterruptedException {
        CopyMessage reply = CopyMessage.receive(stream);
        if (reply == null) {
            throw new Failure("the peer hung up instead of answering");
        }
        if (reply.command() != (command | CopyMessage.REPLY) || reply.length() != CopyMessage.HEADER) {
            throw new Failure("the peer's answer does not follow the protocol of rcopy");
        }
        if (reply.data() != 0) {
            throw new Failure("the peer could not " + doing + ": " + errorText(reply.data()));
        }
    }

    private static String errorText(int errno) {
        return switch (errno) {
            case 2 -> "no such directory";
            case 13 -> "permission denied";
            case CopyMessage.EBUSY -> "the server is busy with another file";
            case CopyMessage.EINVAL -> "invalid argument; rcopy of rdma-core does not accept empty files";
            case 28 -> "no space left";
            default -> "errno " + errno;
        };
    }
}
