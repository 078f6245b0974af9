package org.rdmapanama.samples.table;

import java.lang.foreign.MemorySegment;
import org.rdmapanama.samples.calls.CallMessage;
import org.rdmapanama.samples.calls.Service;

/** What clients ask for, and how a server answers, over RDMA and TCP alike. */
final class Request {
    /** Requests: a key, or a key and a value, follow the header, which has their lengths. */
    static final int GET = 1;

    static final int PUT = 2;
    static final int REMOVE = 3;

    /** Where the table is now. */
    static final int GEOMETRY = 4;

    /** How much processor time the process of the server has used, in nanoseconds. */
    static final int PROCESSOR = 5;

    /** Answers: the header has the length of what follows. */
    static final int OK = 0;

    static final int ABSENT = 1;
    static final int FULL = 2;
    static final int TOO_LONG = 3;

    private Request() {}

    /** Returns the longest request and answer for a table. */
    static int messageBytes(Geometry geometry) {
        return CallMessage.HEADER + Math.max(Geometry.BYTES, geometry.maxEntry());
    }

    /** Writes a request; returns its length. */
    static int write(
            MemorySegment message, int kind, MemorySegment key, long from, int keyLength, MemorySegment value) {
        int valueLength = (int) value.byteSize();
        CallMessage.write(message, kind, keyLength, valueLength);
        MemorySegment.copy(key, from, message, CallMessage.HEADER, keyLength);
        MemorySegment.copy(value, 0, message, CallMessage.HEADER + keyLength, valueLength);
        return CallMessage.HEADER + keyLength + valueLength;
    }

    /** Writes an answer; returns its length. */
    static int answer(MemorySegment message, int status, MemorySegment body) {
        int length = (int) body.byteSize();
        CallMessage.write(message, status, length, 0);
        MemorySegment.copy(body, 0, message, CallMessage.HEADER, length);
        return CallMessage.HEADER + length;
    }

    /** Returns the length of what follows the header, once a server has checked it against the length of the message. */
    static int checkedBody(MemorySegment request, int length) {
        int key = CallMessage.first(request);
        int value = CallMessage.second(request);
        int body = length - CallMessage.HEADER;
        if (key < 0 || value < 0 || key > body || value != body - key) {
            throw new Service.BadRequestException(
                    "a request of " + length + " bytes says that it has a key of " + key + " and a value of " + value);
        }
        return body;
    }
}
