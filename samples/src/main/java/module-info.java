/** Commands that show RDMA at work. */
module org.rdmapanama.samples {
    requires HdrHistogram;
    requires info.picocli;
    requires org.apache.logging.log4j;
    requires org.rdmapanama;
    requires org.rdmapanama.cm;
}
