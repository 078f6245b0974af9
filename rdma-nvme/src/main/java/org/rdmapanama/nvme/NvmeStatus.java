package org.rdmapanama.nvme;

/**
 * How a command ended: the status field of its response (Base 2.0, 3.3.3.2.1).
 *
 * @param type the status code type (SCT), 0 to 7: 0 generic, 1 of the command, 2 of media and data integrity, 3 of the path,
 *     7 of the vendor
 * @param code the status code (SC), 0 to 255
 * @param doNotRetry whether the controller says that the same command would fail again (DNR)
 */
public record NvmeStatus(int type, int code, boolean doNotRetry) {
    /** The command has succeeded. */
    public static final NvmeStatus SUCCESS = new NvmeStatus(0, 0, false);

    /** The controller does not know the command. */
    public static final NvmeStatus INVALID_OPCODE = permanent(0, 0x01);

    /** A field of the command has a value that is not allowed. */
    public static final NvmeStatus INVALID_FIELD = permanent(0, 0x02);

    /** The data could not be transferred. */
    public static final NvmeStatus DATA_TRANSFER_ERROR = new NvmeStatus(0, 0x04, false);

    /** The controller has failed. */
    public static final NvmeStatus INTERNAL_ERROR = new NvmeStatus(0, 0x06, false);

    /** The command was aborted by an Abort. */
    public static final NvmeStatus ABORTED = new NvmeStatus(0, 0x07, false);

    /** The command was aborted because its queue was deleted. */
    public static final NvmeStatus QUEUE_DELETED = new NvmeStatus(0, 0x08, false);

    /** There is no such namespace, or it has another format. */
    public static final NvmeStatus INVALID_NAMESPACE = permanent(0, 0x0b);

    /** The command must not come now, such as before Connect. */
    public static final NvmeStatus SEQUENCE_ERROR = permanent(0, 0x0c);

    /** The length of the descriptor is not that of the data. */
    public static final NvmeStatus INVALID_DATA_LENGTH = permanent(0, 0x0f);

    /** The data pointer has a type that the controller does not support. */
    public static final NvmeStatus INVALID_DESCRIPTOR_TYPE = permanent(0, 0x11);

    /** The data is said to be outside of the capsule. */
    public static final NvmeStatus INVALID_CAPSULE_OFFSET = permanent(0, 0x16);

    /** The blocks are not all in the namespace. */
    public static final NvmeStatus LBA_OUT_OF_RANGE = permanent(0, 0x80);

    /** There are as many Aborts under way as the controller allows. */
    public static final NvmeStatus TOO_MANY_ABORTS = new NvmeStatus(1, 0x03, false);

    /** There is no such log page. */
    public static final NvmeStatus INVALID_LOG_PAGE = permanent(1, 0x09);

    /** There are as many requests for asynchronous events as the controller allows. */
    public static final NvmeStatus TOO_MANY_EVENT_REQUESTS = permanent(1, 0x05);

    /** The format of Connect is not known. */
    public static final NvmeStatus CONNECT_INVALID_FORMAT = permanent(1, 0x80);

    /** The controller, or the queue of it, is connected already. */
    public static final NvmeStatus CONNECT_BUSY = permanent(1, 0x81);

    /** A parameter of Connect is not allowed, such as the name of the subsystem. */
    public static final NvmeStatus CONNECT_INVALID_PARAMETERS = permanent(1, 0x82);

    /** The data could not be written. */
    public static final NvmeStatus WRITE_FAULT = new NvmeStatus(2, 0x80, false);

    /** The data could not be read. */
    public static final NvmeStatus READ_ERROR = new NvmeStatus(2, 0x81, false);

    /** The data of Compare differs from that of the namespace. */
    public static final NvmeStatus COMPARE_FAILURE = permanent(2, 0x85);

    /** The namespace is read-only. */
    public static final NvmeStatus WRITE_PROTECTED = permanent(0, 0x20);

    /**
     * This host has lost the controller: its connection ended, or it did not answer in time. What the command was to do may
     * have been done, or partly, or not.
     */
    public static final NvmeStatus HOST_PATH_ERROR = new NvmeStatus(3, 0x70, false);

    private static NvmeStatus permanent(int type, int code) {
        return new NvmeStatus(type, code, true);
    }

    /**
     * Returns the status of a status field.
     *
     * @param field the upper half of dword 3 of a response: phase in bit 0, code in bits 8:1, type in bits 11:9, do not retry
     *     in bit 15
     */
    static NvmeStatus of(int field) {
        return (field & 0xfffe) == 0 ? SUCCESS : new NvmeStatus(field >> 9 & 7, field >> 1 & 0xff, field >> 15 != 0);
    }

    /** Returns the status field, with the phase 0. */
    int field() {
        return code << 1 | type << 9 | (doNotRetry ? 1 << 15 : 0);
    }

    /**
     * {@return whether the command has succeeded}
     */
    public boolean isSuccess() {
        return type == 0 && code == 0;
    }

    /**
     * Returns whether this says the same as another one, whatever both say about retries.
     *
     * @param other the other status
     * @return whether type and code are the same
     */
    public boolean matches(NvmeStatus other) {
        return type == other.type && code == other.code;
    }

    /**
     * {@return what the status means, in a few words; of codes that are unknown only that}
     */
    public String meaning() {
        return switch (type) {
            case 0 -> generic();
            case 1 -> ofCommand();
            case 2 -> ofMedia();
            case 3 -> ofPath();
            default -> type == 7 ? "a status of the vendor" : "an unknown status";
        };
    }

    private String generic() {
        return switch (code) {
            case 0x00 -> "success";
            case 0x01 -> "the controller does not know the command";
            case 0x02 -> "a field of the command has a value that is not allowed";
            case 0x03 -> "another command has the same identifier";
            case 0x04 -> "the data could not be transferred";
            case 0x05 -> "aborted because power is lost";
            case 0x06 -> "the controller has failed";
            case 0x07 -> "aborted on request";
            case 0x08 -> "aborted because the queue was deleted";
            case 0x0b -> "there is no such namespace, or it has another format";
            case 0x0c -> "the command must not come now";
            case 0x0d -> "the last segment of the SGL is invalid";
            case 0x0e -> "the SGL has a wrong number of descriptors";
            case 0x0f -> "the length of the descriptor is not that of the data";
            case 0x11 -> "the controller does not support this type of descriptor";
            case 0x13 -> "an offset of a PRP is invalid";
            case 0x15 -> "the command is denied";
            case 0x16 -> "the data would lie outside of the capsule";
            case 0x18 -> "the identifier of the host differs from that of another controller of this host";
            case 0x19 -> "the time of keep-alive is over";
            case 0x1a -> "the time of keep-alive is not allowed";
            case 0x1d -> "the device is being sanitized";
            case 0x20 -> "the namespace is write protected";
            case 0x21 -> "interrupted; it may be retried";
            case 0x22 -> "an error of the transport, which may be gone";
            case 0x80 -> "the blocks are not all in the namespace";
            case 0x81 -> "the namespace has no room left";
            case 0x82 -> "the namespace is not ready";
            case 0x83 -> "another host has reserved the namespace";
            case 0x84 -> "the namespace is being formatted";
            default -> "an unknown generic status";
        };
    }

    private String ofCommand() {
        return switch (code) {
            case 0x01 -> "there is no queue with this number";
            case 0x02 -> "the size of the queue is not allowed";
            case 0x03 -> "too many commands are being aborted";
            case 0x05 -> "there are as many requests for asynchronous events as allowed";
            case 0x09 -> "there is no such log page";
            case 0x0d -> "the feature cannot be saved";
            case 0x0e -> "the feature cannot be changed";
            case 0x80 -> "the attributes conflict, or the format of Connect is not known";
            case 0x81 -> "the protection information is invalid, or the controller is connected already";
            case 0x82 -> "the range is read-only, or a parameter of Connect is not allowed";
            case 0x83 -> "the command exceeds a limit, or discovery must begin again";
            case 0x84 -> "this host is not allowed to connect";
            case 0x90 -> "the discovery log has changed meanwhile";
            case 0x91 -> "the host must authenticate";
            default -> "an unknown status of the command";
        };
    }

    private String ofMedia() {
        return switch (code) {
            case 0x80 -> "the data could not be written";
            case 0x81 -> "the data could not be read";
            case 0x82 -> "the guard of the data does not match";
            case 0x83 -> "the application tag does not match";
            case 0x84 -> "the reference tag does not match";
            case 0x85 -> "the data differs from that of the namespace";
            case 0x86 -> "access is denied";
            case 0x87 -> "the blocks were deallocated or never written";
            default -> "an unknown status of media or data";
        };
    }

    private String ofPath() {
        return switch (code) {
            case 0x00 -> "the path to the namespace has failed";
            case 0x01 -> "the namespace cannot be reached through this controller any more";
            case 0x02 -> "the namespace cannot be reached through this controller now";
            case 0x03 -> "the namespace moves to another path";
            case 0x60 -> "the controller has found that the path has failed";
            case 0x70 -> "this host has lost the controller; the command may have been executed, or not";
            case 0x71 -> "this host has aborted the command, which may have been executed, or not";
            default -> "an unknown status of the path";
        };
    }

    /** Type, code and meaning. */
    @Override
    public String toString() {
        return "status %d/%02Xh: %s".formatted(type, code, meaning());
    }
}
