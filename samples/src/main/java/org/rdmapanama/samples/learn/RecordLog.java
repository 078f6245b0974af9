package org.rdmapanama.samples.learn;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;

/** Records in the memory of a node, for lessons 9 and 10. */
record RecordLog(MemorySegment memory) {
    /** Creates an empty log that may be registered in several protection domains. */
    RecordLog() {
        this(Arena.ofAuto().allocate(1024, 8));
    }

    // excerpt
    // A record: length of the payload, checksum, term, index, and the payload, padded to 8 bytes.
    static final int CHECKSUM = 4;
    static final int TERM = 8;
    static final int INDEX = 16;
    static final int PAYLOAD = 24;
    static final int END_MARK = 8;

    /** Appends a record and an end mark. */
    void append(long term, String payload) {
        List<Integer> places = places();
        int at = places.getLast();
        byte[] bytes = payload.getBytes(UTF_8);
        memory.set(JAVA_INT, at, bytes.length);
        memory.set(JAVA_LONG, at + TERM, term);
        memory.set(JAVA_LONG, at + INDEX, places.size());
        memory.asSlice(at + PAYLOAD, next(at) + END_MARK - at - PAYLOAD).fill((byte) 0);
        MemorySegment.copy(bytes, 0, memory, JAVA_BYTE, at + PAYLOAD, bytes.length);
        memory.set(JAVA_INT, at + CHECKSUM, checksum(places));
    }

    /** Returns where each record begins, and last where the log ends: at the first record that does not check. */
    List<Integer> places() {
        List<Integer> places = new ArrayList<>(List.of(0));
        while (checks(places)) {
            places.add(next(places.getLast()));
        }
        return places;
    }

    private boolean checks(List<Integer> places) {
        int at = places.getLast();
        int length = memory.get(JAVA_INT, at);
        return length >= 0
                && length <= memory.byteSize() - at - PAYLOAD - END_MARK
                && memory.get(JAVA_INT, at + CHECKSUM) == checksum(places);
    }

    private int next(int at) {
        return at + PAYLOAD + (memory.get(JAVA_INT, at) + 7) / 8 * 8;
    }

    /** Computes the checksum of the record at the last place. It covers that of the record before as well. */
    private int checksum(List<Integer> places) {
        int at = places.getLast();
        int before = places.size() == 1 ? 0 : memory.get(JAVA_INT, places.get(places.size() - 2) + CHECKSUM);
        CRC32C crc = new CRC32C();
        crc.update(ByteBuffer.allocate(4).putInt(before).flip());
        crc.update(memory.asSlice(at, CHECKSUM).asByteBuffer());
        crc.update(memory.asSlice(at + TERM, next(at) - at - TERM).asByteBuffer());
        return (int) crc.getValue();
    }
    // end

    int count() {
        return places().size() - 1;
    }

    /** Returns where a record ends, or for 0 where the first begins. */
    int end(int index) {
        return places().get(index);
    }

    /** Returns the payload of the record at a place, even if it does not check. */
    String payload(int at) {
        return memory.getString(at + PAYLOAD);
    }
}
