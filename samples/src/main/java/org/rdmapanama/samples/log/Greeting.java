package org.rdmapanama.samples.log;

import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Optional;

/** What primary and replica tell each other when they connect; over RDMA in the private data. All of it is checked: anybody may connect. */
final class Greeting {
    private static final int MAGIC = 0x474C_4452;

    private Greeting() {}

    private static ByteBuffer of(int bytes) {
        return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN).putInt(MAGIC);
    }

    /** Returns the bytes behind the magic number, if they are there. */
    private static Optional<ByteBuffer> read(byte[] data, int bytes) {
        if (data.length < bytes) {
            return Optional.empty();
        }
        ByteBuffer buffer = ByteBuffer.wrap(data).order(ByteOrder.LITTLE_ENDIAN);
        return buffer.getInt() == MAGIC ? Optional.of(buffer) : Optional.empty();
    }

    /**
     * The request of a primary.
     *
     * @param durability when a record counts as stored
     * @param term the term of the primary
     * @param primary the node of the primary
     * @param wordAddress where a replica writes the index of the last record that it has on disk
     * @param wordKey the key for that
     */
    record Request(Durability durability, long term, long primary, long wordAddress, int wordKey) {
        static final int BYTES = 36;

        byte[] bytes() {
            return Greeting.of(BYTES)
                    .putInt(durability.ordinal())
                    .putLong(term)
                    .putLong(primary)
                    .putLong(wordAddress)
                    .putInt(wordKey)
                    .array();
        }

        static Optional<Request> of(byte[] data) {
            return read(data, BYTES).flatMap(in -> {
                int durability = in.getInt();
                if (durability < 0 || durability >= Durability.values().length) {
                    return Optional.empty();
                }
                Request request = new Request(
                        Durability.values()[durability], in.getLong(), in.getLong(), in.getLong(), in.getInt());
                return request.term >= 1 && request.primary != 0 ? Optional.of(request) : Optional.empty();
            });
        }
    }

    /**
     * The answer of a replica that has promised to follow the primary.
     *
     * @param node the node of the replica
     * @param address where its file is
     * @param key the key of its file
     * @param capacity the size of its file
     * @param lastTerm the term of its last record
     * @param lastIndex the index of its last record
     * @param tail where its log ends
     * @param commitIndex what it knows to be committed
     */
    record Answer(
            long node,
            long address,
            int key,
            long capacity,
            long lastTerm,
            long lastIndex,
            long tail,
            long commitIndex) {
        static final int BYTES = 64;

        /** The answer of a replica with a file; address and key are for RDMA, and 0 otherwise. */
        static Answer of(LogFile file, long address, int key) {
            return new Answer(
                    file.node(),
                    address,
                    key,
                    file.capacity(),
                    file.lastTerm(),
                    file.lastIndex(),
                    file.tail(),
                    file.commitIndex());
        }

        byte[] bytes() {
            return Greeting.of(BYTES)
                    .putInt(key)
                    .putLong(node)
                    .putLong(address)
                    .putLong(capacity)
                    .putLong(lastTerm)
                    .putLong(lastIndex)
                    .putLong(tail)
                    .putLong(commitIndex)
                    .array();
        }

        static Optional<Answer> of(byte[] data) {
            return read(data, BYTES).flatMap(in -> {
                int key = in.getInt();
                Answer answer = new Answer(
                        in.getLong(),
                        in.getLong(),
                        key,
                        in.getLong(),
                        in.getLong(),
                        in.getLong(),
                        in.getLong(),
                        in.getLong());
                return answer.isSound() ? Optional.of(answer) : Optional.empty();
            });
        }

        /** Checks that a primary with a file may have such a replica. */
        void check(LogFile file, InetSocketAddress address) {
            if (capacity() != file.capacity()) {
                throw new LogException("the replica at " + address + " has a file of " + capacity()
                        + " bytes, and this node one of " + file.capacity() + ": all nodes need files of one size");
            }
            if (node() == file.node()) {
                throw new LogException("the replica at " + address + " has a copy of the file of this node, and would"
                        + " count twice: remove its file and let it catch up");
            }
        }

        private boolean isSound() {
            return node != 0
                    && capacity >= LogFile.MIN_CAPACITY
                    && tail >= LogFile.FIRST
                    && tail <= capacity
                    && tail % Long.BYTES == 0
                    && lastTerm >= 0
                    && lastIndex >= 0
                    && lastIndex <= (tail - LogFile.FIRST) / LogFile.RECORD_HEADER
                    && commitIndex >= 0;
        }
    }

    /**
     * The rejection by a replica.
     *
     * @param term the term that it has promised
     */
    record Rejection(long term) {
        private static final int BYTES = 12;

        byte[] bytes() {
            return Greeting.of(BYTES).putLong(term).array();
        }

        static Optional<Rejection> of(byte[] data) {
            return read(data, BYTES).map(in -> new Rejection(in.getLong())).filter(each -> each.term >= 1);
        }
    }
}
