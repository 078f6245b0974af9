package org.rdmapanama.samples.today;

/** The ways to move data from one process to another. */
enum TransferMethod {
    MEMORY("TCP, memory: write"),
    READ_WRITE("TCP, file: read and write"),
    MAP_WRITE("TCP, file: mmap and write"),
    TRANSFER_TO("TCP, file: transferTo (sendfile)"),
    RDMA_READY("RDMA WRITE, file: mapped and registered once"),
    RDMA_REGISTER("RDMA WRITE, file: mapped and registered each time");

    final String title;

    TransferMethod(String title) {
        this.title = title;
    }

    boolean isRdma() {
        return this == RDMA_READY || this == RDMA_REGISTER;
    }
}
