package org.rdmapanama.nvme.wire;

/** The operation codes of the commands, by the queue they belong to. */
public final class Opcode {
    /** Base 2.0, figure 138. */
    public static final int GET_LOG_PAGE = 0x02;

    public static final int IDENTIFY = 0x06;
    public static final int ABORT = 0x08;
    public static final int SET_FEATURES = 0x09;
    public static final int GET_FEATURES = 0x0a;
    public static final int ASYNC_EVENT_REQUEST = 0x0c;
    public static final int KEEP_ALIVE = 0x18;

    /** NVM Command Set 1.0, figure 22. */
    public static final int FLUSH = 0x00;

    public static final int WRITE = 0x01;
    public static final int READ = 0x02;
    public static final int COMPARE = 0x05;
    public static final int WRITE_ZEROES = 0x08;
    public static final int DATASET_MANAGEMENT = 0x09;

    /** Fabrics 1.1, 3: all of its commands have this code, and a type. */
    public static final int FABRICS = 0x7f;

    /** The types of commands of Fabrics. */
    public static final int PROPERTY_SET = 0x00;

    public static final int CONNECT = 0x01;
    public static final int PROPERTY_GET = 0x04;
    public static final int DISCONNECT = 0x08;

    private Opcode() {}

    /**
     * Returns the name of a command.
     *
     * @param admin whether it is one of the Admin queue
     * @param opcode its code, 0 to 255
     * @param type its type, if the code is that of Fabrics
     */
    public static String name(boolean admin, int opcode, int type) {
        if (opcode == FABRICS) {
            return switch (type) {
                case PROPERTY_SET -> "Property Set";
                case CONNECT -> "Connect";
                case PROPERTY_GET -> "Property Get";
                case DISCONNECT -> "Disconnect";
                default -> "Fabrics command of type 0x" + Integer.toHexString(type);
            };
        }
        if (admin) {
            return switch (opcode) {
                case GET_LOG_PAGE -> "Get Log Page";
                case IDENTIFY -> "Identify";
                case ABORT -> "Abort";
                case SET_FEATURES -> "Set Features";
                case GET_FEATURES -> "Get Features";
                case ASYNC_EVENT_REQUEST -> "Asynchronous Event Request";
                case KEEP_ALIVE -> "Keep Alive";
                default -> "Admin command 0x" + Integer.toHexString(opcode);
            };
        }
        return switch (opcode) {
            case FLUSH -> "Flush";
            case WRITE -> "Write";
            case READ -> "Read";
            case COMPARE -> "Compare";
            case WRITE_ZEROES -> "Write Zeroes";
            case DATASET_MANAGEMENT -> "Dataset Management";
            default -> "I/O command 0x" + Integer.toHexString(opcode);
        };
    }
}
