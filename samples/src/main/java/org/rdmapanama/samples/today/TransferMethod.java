package org.rdmapanama.samples.today;

/** The ways to move data from one process to another. */
public enum TransferMethod {
    /** From memory to a socket. */
    MEMORY("TCP, memory: write", CopyPath.from("memory").socket()),

    /** From a file through memory to a socket. */
    READ_WRITE(
            "TCP, file: read and write",
            CopyPath.from("disk").dma("page cache").cpu("memory").socket()),

    /** From a mapped file to a socket. */
    MAP_WRITE(
            "TCP, file: mmap and write", CopyPath.from("disk").dma("page cache").socket()),

    /** From a file to a socket by calls of sendfile. */
    TRANSFER_TO(
            "TCP, file: transferTo (sendfile)",
            CopyPath.from("disk").dma("page cache").tcp()),

    /** From a file past the page cache through memory to a socket. */
    DIRECT_WRITE(
            "TCP, file: direct I/O and write",
            CopyPath.from("disk").dma("memory").socket()),

    /** From a file that was mapped and registered before. */
    RDMA_READY(
            "RDMA WRITE, file: mapped and registered once",
            CopyPath.from("disk").dma("page cache").rdma()),

    /** From a file that is mapped and registered for this transfer. */
    RDMA_REGISTER(
            "RDMA WRITE, file: mapped and registered each time",
            CopyPath.from("disk").dma("page cache").rdma()),

    /** From a file past the page cache through registered memory. */
    RDMA_DIRECT(
            "RDMA WRITE, file: direct I/O to registered memory",
            CopyPath.from("disk").dma("registered memory").rdma());

    private final String title;
    private final CopyPath path;

    TransferMethod(String title, CopyPath path) {
        this.title = title;
        this.path = path;
    }

    /**
     * Returns a short description.
     *
     * @return the title
     */
    public String title() {
        return title;
    }

    /**
     * Returns the copies that are made on the way.
     *
     * @return the path
     */
    public CopyPath path() {
        return path;
    }

    /**
     * Returns whether a device moves the data.
     *
     * @return whether this is RDMA WRITE
     */
    public boolean isRdma() {
        return this == RDMA_READY || this == RDMA_REGISTER || this == RDMA_DIRECT;
    }

    /**
     * Returns whether the file is read past the page cache.
     *
     * @return whether this is direct I/O
     */
    public boolean isDirect() {
        return this == DIRECT_WRITE || this == RDMA_DIRECT;
    }
}
