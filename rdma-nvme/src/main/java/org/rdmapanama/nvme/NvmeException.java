package org.rdmapanama.nvme;

import org.jspecify.annotations.Nullable;

/**
 * Thrown when a command did not succeed. {@link #status} says how it ended, and {@link #command} which one it was. When the
 * controller was lost, the {@linkplain NvmeStatus#HOST_PATH_ERROR status} is one of the path and the cause says why.
 */
public final class NvmeException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** Not in the serial form. */
    private final transient NvmeStatus status;

    /** The command. */
    private final String command;

    NvmeException(String command, NvmeStatus status) {
        this(command, status, "", null);
    }

    NvmeException(String command, NvmeStatus status, @Nullable String details, @Nullable Throwable cause) {
        super(command + " failed with " + status + (details == null || details.isEmpty() ? "" : "; " + details), cause);
        this.status = status;
        this.command = command;
    }

    /**
     * {@return how the command ended}
     */
    public NvmeStatus status() {
        return status;
    }

    /**
     * {@return the command, with its namespace and blocks if it has some}
     */
    public String command() {
        return command;
    }
}
