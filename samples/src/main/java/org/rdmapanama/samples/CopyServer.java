package org.rdmapanama.samples;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;

/**
 * The side of rcopy that receives files, for one client. A file appears under its name when it is complete. Threads:
 * one at a time.
 */
final class CopyServer {
    private static final int CHUNK = 1 << 20;

    private final CopyStream stream;
    private final Path folder;
    private final PrintWriter out;

    /** The file that receives the bytes, and the name it gets at the end; null while no file is open. */
    private Path part;

    private Path target;

    CopyServer(CopyStream stream, Path folder, PrintWriter out) {
        this.stream = stream;
        this.folder = folder;
        this.out = out;
    }

    /** Serves the client's requests until it disconnects. */
    void run() throws IOException, InterruptedException {
        try {
            for (CopyMessage message = CopyMessage.receive(stream);
                    message != null;
                    message = CopyMessage.receive(stream)) {
                int error = switch (message.command()) {
                    case CopyMessage.OPEN -> open(message);
                    case CopyMessage.WRITE -> write(message);
                    case CopyMessage.CLOSE -> close();
                    default -> throw refuse(message, "unknown command " + message.command());
                };
                stream.send(message.reply(error));
            }
            if (part != null) {
                throw new Failure("the peer left before it sent the file");
            }
        } finally {
            close();
        }
    }

    private Failure refuse(CopyMessage message, String why) throws IOException, InterruptedException {
        stream.send(message.reply(CopyMessage.EINVAL));
        return new Failure("refused the client: " + why);
    }

    private int open(CopyMessage message) throws IOException, InterruptedException {
        ByteBuffer name = CopyMessage.allocate(message.length() - CopyMessage.HEADER);
        stream.receive(name);
        if (part != null) {
            return CopyMessage.EBUSY;
        }
        String text = StandardCharsets.UTF_8.decode(name.flip()).toString();
        int end = text.indexOf('\0');
        // Only the last part of the name counts: no client may write outside the folder.
        Path last = Path.of(end < 0 ? text : text.substring(0, end)).getFileName();
        if (last == null || last.toString().isEmpty() || last.toString().startsWith(".")) {
            return CopyMessage.EINVAL;
        }
        target = folder.resolve(last);
        try {
            part = Files.createTempFile(folder, "." + last, ".part");
        } catch (IOException e) {
            say("cannot write into " + folder + ": " + e.getMessage());
            return CopyMessage.EIO;
        }
        return 0;
    }

    private int write(CopyMessage message) throws IOException, InterruptedException {
        if (part == null || message.length() != CopyMessage.HEADER + Long.BYTES) {
            throw refuse(message, "a write without an open file, or without a size");
        }
        ByteBuffer number = CopyMessage.allocate(Long.BYTES);
        stream.receive(number);
        long size = number.getLong(0);
        if (size < 0) {
            throw refuse(message, "a negative size");
        }
        try (FileChannel file =
                FileChannel.open(part, StandardOpenOption.WRITE, StandardOpenOption.TRUNCATE_EXISTING)) {
            ByteBuffer chunk = ByteBuffer.allocateDirect((int) Math.min(CHUNK, Math.max(1, size)));
            for (long left = size; left > 0; left -= chunk.limit()) {
                chunk.clear().limit((int) Math.min(chunk.capacity(), left));
                if (!stream.receive(chunk)) {
                    throw new Failure("the peer ended the transfer early");
                }
                chunk.flip();
                while (chunk.hasRemaining()) {
                    file.write(chunk);
                }
            }
        }
        Files.move(part, target, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
        part = null;
        say("received " + ByteSize.format(size) + " as " + target);
        return 0;
    }

    private int close() throws IOException {
        if (part != null) {
            Files.deleteIfExists(part);
            part = null;
        }
        return 0;
    }

    private void say(String line) {
        synchronized (out) {
            out.println("  " + line);
            out.flush();
        }
    }
}
