package org.rdmapanama.rsocket;

import java.net.ProtocolException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * What each side of a stream tells the other while they connect, in 40 bytes of private data: version 1 of rsocket's
 * protocol.
 *
 * @param bigEndian whether the sender keeps numbers in its memory with the most significant byte first
 * @param credits how many messages the sender has posted receives for, 1 to 65535
 * @param mappings how many entries for opened memory follow the list of offers
 * @param offers where the peer writes its offers of buffer space, each {@link Offer#BYTES} long
 * @param buffer the part of the receive buffer to write into first
 */
record ConnectionData(boolean bigEndian, int credits, int mappings, Offer offers, Offer buffer) {
    static final int BYTES = 8 + 2 * Offer.BYTES;

    private static final int VERSION = 1;
    private static final int BIG_ENDIAN_FLAG = 1;
    private static final int MAPPINGS_FLAG = 2;

    /** The list of offers has as many entries; librdmacm always says 2. */
    static final int OFFERS = 2;

    /** From here on a byte counts 256 mappings at a time. */
    private static final int EXACT_MAPPINGS = 128;

    private static final int SCALE_BITS = 8;

    /** As many mappings as one byte can tell. */
    static final int MAX_MAPPINGS = (EXACT_MAPPINGS - 1) << SCALE_BITS;

    private static final int RESERVED_BYTES = 3;

    /** Returns the number of mappings that the peer will read: exact up to 128, otherwise rounded down to a multiple of 256. */
    static int tellable(int mappings) {
        return unscaled(scaled(mappings));
    }

    private static int scaled(int mappings) {
        return mappings <= EXACT_MAPPINGS ? mappings : EXACT_MAPPINGS | mappings >> SCALE_BITS;
    }

    private static int unscaled(int scaled) {
        return scaled <= EXACT_MAPPINGS ? scaled : (scaled & ~EXACT_MAPPINGS) << SCALE_BITS;
    }

    byte[] toBytes() {
        ByteBuffer bytes = ByteBuffer.allocate(BYTES).order(ByteOrder.BIG_ENDIAN);
        bytes.put((byte) VERSION);
        bytes.put((byte) (MAPPINGS_FLAG | (bigEndian ? BIG_ENDIAN_FLAG : 0)));
        bytes.putShort((short) credits);
        bytes.put(new byte[RESERVED_BYTES]);
        bytes.put((byte) scaled(mappings));
        offers.writeTo(bytes);
        buffer.writeTo(bytes);
        return bytes.array();
    }

    /**
     * Reads what a peer has sent.
     *
     * @param privateData the private data, which InfiniBand and RoCE pad with zeros
     * @throws ProtocolException when it is not what an rsocket sends
     */
    static ConnectionData parse(byte[] privateData) throws ProtocolException {
        if (privateData.length < BYTES) {
            throw new ProtocolException("the peer is not an rsocket: its private data must have " + BYTES
                    + " bytes at least, and has " + privateData.length);
        }
        ByteBuffer bytes = ByteBuffer.wrap(privateData).order(ByteOrder.BIG_ENDIAN);
        int version = Byte.toUnsignedInt(bytes.get());
        if (version != VERSION) {
            throw new ProtocolException(
                    "the version of the peer's rsocket protocol must be " + VERSION + ": " + version);
        }
        int flags = bytes.get();
        int credits = Short.toUnsignedInt(bytes.getShort());
        bytes.position(bytes.position() + RESERVED_BYTES);
        int scaled = Byte.toUnsignedInt(bytes.get());
        Offer offers = Offer.readFrom(bytes);
        Offer buffer = Offer.readFrom(bytes);
        if (credits == 0) {
            throw new ProtocolException("the peer must have receives for 1 message at least: 0");
        }
        if (offers.length() < OFFERS) {
            throw new ProtocolException(
                    "the peer's list of offers must have " + OFFERS + " entries at least: " + offers.length());
        }
        if (buffer.length() == 0) {
            throw new ProtocolException("the peer's receive buffer must not be empty");
        }
        return new ConnectionData(
                (flags & BIG_ENDIAN_FLAG) != 0,
                credits,
                (flags & MAPPINGS_FLAG) == 0 ? 0 : unscaled(scaled),
                offers,
                buffer);
    }
}
