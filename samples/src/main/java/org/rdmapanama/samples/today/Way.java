package org.rdmapanama.samples.today;

/** How data gets from one process to another one. */
enum Way {
    MEMORY("TCP, memory: write"),
    READ_WRITE("TCP, file: read and write"),
    MAP_WRITE("TCP, file: mmap and write"),
    TRANSFER_TO("TCP, file: transferTo (sendfile)"),
    RDMA_READY("RDMA WRITE, file: mapped and registered once"),
    RDMA_REGISTER("RDMA WRITE, file: mapped and registered each time");

    final String title;

    Way(String title) {
        this.title = title;
    }

    boolean isRdma() {
        return this == RDMA_READY || this == RDMA_REGISTER;
    }
}
