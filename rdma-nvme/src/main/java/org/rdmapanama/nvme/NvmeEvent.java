package org.rdmapanama.nvme;

/**
 * Something that a controller reports by itself (Base 2.0, 5.2.1).
 *
 * @param type 0 for errors, 1 for health, 2 for notices, 6 for the I/O command set, 7 for the vendor
 * @param information what happened, 0 to 255, depending on the type
 * @param logPage the log page that tells more
 */
public record NvmeEvent(int type, int information, int logPage) {
    /** The type of notices. */
    static final int NOTICE = 2;

    /** The information that a namespace has come, gone, or changed. */
    static final int NAMESPACES_CHANGED = 0;

    static NvmeEvent of(int result) {
        return new NvmeEvent(result & 7, result >>> 8 & 0xff, result >>> 16 & 0xff);
    }

    int result() {
        return type | information << 8 | logPage << 16;
    }

    /**
     * {@return whether a namespace has come, gone, or changed: {@link NvmeController#namespaces()} asks anew}
     */
    public boolean isNamespacesChanged() {
        return type == NOTICE && information == NAMESPACES_CHANGED;
    }
}
