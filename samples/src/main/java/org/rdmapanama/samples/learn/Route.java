package org.rdmapanama.samples.learn;

import static java.nio.file.StandardOpenOption.WRITE;

import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.rdmapanama.samples.Failure;
import org.rdmapanama.samples.TestPattern;
import org.rdmapanama.samples.today.DirectFile;

/** What lesson 0 moves, a file and memory with the same bytes, and where to: B's memory, through a socket or not. */
final class Route implements AutoCloseable {
    /** Number of bytes that are read and written at once. */
    static final int PIECE = 256 << 10;

    private static final long SEED = 7;

    final Path file;
    final MemorySegment memory;
    final MemorySegment memoryOfB;

    /** Memory for a part of the file, at an address that suits direct I/O. */
    final ByteBuffer piece;

    final SocketChannel socket;

    /** Why the file cannot be read past the page cache; empty if it can. */
    final String directObstacle;

    private final Arena arena = Arena.ofAuto();
    private final SocketChannel socketOfB;

    Route(int bytes) throws IOException, InterruptedException {
        memory = arena.allocate(bytes, Long.BYTES);
        memoryOfB = arena.allocate(bytes, Long.BYTES);
        piece = allocate(PIECE).asByteBuffer();
        TestPattern.fill(memory, SEED, () -> {});
        file = Files.createTempFile("lesson", ".data");
        try (FileChannel channel = FileChannel.open(file, WRITE)) {
            ByteBuffer all = memory.asByteBuffer();
            while (all.hasRemaining()) {
                channel.write(all);
            }
            // Direct I/O would otherwise begin with writing the file to the disk.
            channel.force(false);
        } catch (IOException e) {
            Files.delete(file);
            throw new FileSystemException(file.toString(), null, e.getMessage());
        }
        directObstacle = DirectFile.obstacle(file, PIECE);
        try (ServerSocketChannel server = ServerSocketChannel.open()) {
            server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            socket = SocketChannel.open(server.getLocalAddress());
            socketOfB = server.accept();
        }
        // Ends when its socket is closed.
        Thread.ofPlatform().daemon().name("B").start(this::receive);
    }

    /** B: fills its memory again and again, and answers each time. */
    private void receive() {
        ByteBuffer answer = ByteBuffer.allocateDirect(1);
        try {
            while (true) {
                ByteBuffer all = memoryOfB.asByteBuffer();
                while (all.hasRemaining()) {
                    if (socketOfB.read(all) < 0) {
                        return;
                    }
                }
                socketOfB.write(answer.clear());
            }
        } catch (IOException e) {
            // A has closed the connection.
        }
    }

    /** Allocates memory for the file, as {@link #piece} is. */
    MemorySegment allocate(int bytes) {
        return arena.allocate(bytes, PIECE);
    }

    /** A: writes all bytes to the socket. */
    void write(ByteBuffer bytes) throws IOException {
        while (bytes.hasRemaining()) {
            socket.write(bytes);
        }
    }

    /** A: waits until B has everything that went through the socket. */
    void awaitAnswer() throws IOException {
        if (socket.read(ByteBuffer.allocateDirect(1)) != 1) {
            throw new EOFException("B closed the connection");
        }
    }

    /** Checks that B has all bytes, and clears its memory. */
    void check() {
        long difference = memory.mismatch(memoryOfB);
        if (difference >= 0) {
            throw new Failure("byte " + difference + " has not arrived");
        }
        memoryOfB.fill((byte) 0);
    }

    @Override
    public void close() throws IOException {
        try (socket;
                socketOfB) {
            Files.delete(file);
        }
    }
}
