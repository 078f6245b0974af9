/** Commands that show RDMA at work. */
module org.rdmapanama.samples {
    requires HdrHistogram;
    requires info.picocli;
    requires org.rdmapanama;
    requires org.rdmapanama.cm;

    // picocli fills in the options by reflection.
    opens org.rdmapanama.samples to
            info.picocli;
    opens org.rdmapanama.samples.today to
            info.picocli;
}
