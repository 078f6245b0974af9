package org.rdmapanama.samples;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * A message between rdma-core's rcopy and its server: a header of sixteen bytes in the host's byte order, and its data.
 *
 * @param command what to do, or, with {@link #REPLY}, what was done
 * @param length length of the message with its header; the contents of the file follow it
 * @param data the file's mode in an open; an errno in a reply, 0 for success
 * @param id returned in the reply
 */
record CopyMessage(int command, int length, int data, long id) {
    static final int OPEN = 1;
    static final int CLOSE = 2;
    static final int WRITE = 3;
    static final int REPLY = 0x80;

    static final int HEADER = 16;
    static final int DEFAULT_PORT = 7427;

    static final int EIO = 5;
    static final int EBUSY = 16;
    static final int EINVAL = 22;

    /** Creates a message that opens a file for writing; the file's name ends with at least one zero. */
    static ByteBuffer open(String name, int mode) {
        byte[] bytes = name.getBytes(StandardCharsets.UTF_8);
        int room = (bytes.length + 8) & ~7;
        if (HEADER + room > 0xffff) {
            throw new Failure("the file name is too long");
        }
        ByteBuffer message = header(OPEN, HEADER + room, mode, 0);
        message.put(bytes);
        return message.rewind();
    }

    /** Creates a message that writes a file of the given size; its bytes follow. */
    static ByteBuffer write(long size) {
        return header(WRITE, HEADER + Long.BYTES, 0, 0).putLong(size).rewind();
    }

    static ByteBuffer close() {
        return header(CLOSE, HEADER, 0, 0).rewind();
    }

    ByteBuffer reply(int errno) {
        return header(command | REPLY, HEADER, errno, id).rewind();
    }

    private static ByteBuffer header(int command, int length, int data, long id) {
        return allocate(length)
                .put((byte) 0)
                .put((byte) command)
                .putShort((short) length)
                .putInt(data)
                .putLong(id);
    }

    static ByteBuffer allocate(int size) {
        return ByteBuffer.allocate(size).order(ByteOrder.nativeOrder());
    }

    /** Returns the next header, or null if the peer has ended the connection. */
    static CopyMessage receive(CopyStream stream) throws IOException, InterruptedException {
        ByteBuffer header = allocate(HEADER);
        if (!stream.receive(header)) {
            return null;
        }
        header.flip();
        int version = header.get();
        int command = Byte.toUnsignedInt(header.get());
        int length = Short.toUnsignedInt(header.getShort());
        if (version != 0 || length < HEADER) {
            throw new Failure("the peer does not speak the protocol of rcopy");
        }
        return new CopyMessage(command, length, header.getInt(), header.getLong());
    }
}
