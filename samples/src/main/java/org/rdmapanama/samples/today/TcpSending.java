package org.rdmapanama.samples.today;

import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** Sends memory or a file through a socket, in each of the possible ways. */
final class TcpSending implements Job {
    /** Number of bytes that are read and written at once. */
    static final int BUFFER = 256 << 10;

    private final TransferMethod way;
    private final MemorySegment memory;
    private final Path file;
    private final SocketChannel channel = SocketChannel.open();

    /** Opened beforehand, because asking for the block size of its disk reads other files; null for the other ways. */
    private final DirectFile direct;

    TcpSending(TransferMethod way, MemorySegment memory, Path file, InetAddress from, InetSocketAddress to)
            throws IOException {
        this.way = way;
        this.memory = memory;
        this.file = file;
        channel.bind(new InetSocketAddress(from, 0));
        channel.connect(to);
        direct = way == TransferMethod.DIRECT_WRITE ? new DirectFile(file) : null;
    }

    @Override
    public String words() {
        return "";
    }

    @Override
    public void run(String... peer) throws IOException {
        if (way == TransferMethod.MEMORY) {
            write(memory.asByteBuffer());
        } else if (way == TransferMethod.DIRECT_WRITE) {
            try (Arena arena = Arena.ofConfined()) {
                send(direct, direct.allocate(arena, BUFFER).asByteBuffer());
            }
        } else {
            try (FileChannel source = FileChannel.open(file, StandardOpenOption.READ)) {
                send(source);
            }
        }
        // Only the other side can tell that everything has arrived.
        ByteBuffer answer = ByteBuffer.allocate(1);
        if (channel.read(answer) != 1) {
            throw new EOFException("the receiver closed the connection");
        }
    }

    private void send(FileChannel source) throws IOException {
        switch (way) {
            case READ_WRITE -> {
                ByteBuffer buffer = ByteBuffer.allocateDirect(BUFFER);
                while (source.read(buffer) >= 0) {
                    write(buffer.flip());
                    buffer.clear();
                }
            }
            case MAP_WRITE -> {
                try (Arena arena = Arena.ofConfined()) {
                    write(source.map(MapMode.READ_ONLY, 0, source.size(), arena).asByteBuffer());
                }
            }
            case TRANSFER_TO -> {
                long size = source.size();
                for (long sent = 0; sent < size; ) {
                    sent += source.transferTo(sent, size - sent, channel);
                }
            }
            default -> throw new IllegalArgumentException("way must use TCP: " + way);
        }
    }

    private void send(DirectFile source, ByteBuffer buffer) throws IOException {
        for (long sent = 0; sent < source.size(); sent += buffer.limit()) {
            buffer.clear();
            source.read(buffer, sent);
            write(buffer.flip());
        }
    }

    private void write(ByteBuffer bytes) throws IOException {
        while (bytes.hasRemaining()) {
            channel.write(bytes);
        }
    }

    @Override
    public void close() throws IOException {
        if (direct != null) {
            direct.close();
        }
        channel.close();
    }
}
