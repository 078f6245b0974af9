/** Commands that show RDMA at work. */
module org.rdmapanama.samples {
    requires HdrHistogram;
    requires com.fasterxml.jackson.core;
    requires info.picocli;
    requires java.compiler;
    requires java.management;
    requires java.management.rmi;
    requires java.xml;
    requires jdk.attach;
    requires jdk.management;
    requires jdk.net;
    requires jdk.unsupported;
    requires org.apache.logging.log4j;
    requires org.commonmark;
    requires org.commonmark.ext.gfm.tables;
    requires org.rdmapanama;
    requires org.rdmapanama.cm;
    requires org.rdmapanama.efa;
    requires org.rdmapanama.nvme;
    requires org.rdmapanama.soft;

    // picocli fills in the options by reflection.
    opens org.rdmapanama.samples to
            info.picocli;
    opens org.rdmapanama.samples.collective to
            info.picocli;
    opens org.rdmapanama.samples.learn to
            info.picocli;
    opens org.rdmapanama.samples.log to
            info.picocli;
    opens org.rdmapanama.samples.nvme to
            info.picocli;
    opens org.rdmapanama.samples.parameters to
            info.picocli;
    opens org.rdmapanama.samples.perf to
            info.picocli;
    opens org.rdmapanama.samples.selftest to
            info.picocli;
    opens org.rdmapanama.samples.stream to
            info.picocli;
    opens org.rdmapanama.samples.table to
            info.picocli;
    opens org.rdmapanama.samples.today to
            info.picocli;
    opens org.rdmapanama.samples.top to
            info.picocli;
}
