/**
 * NVMe over RDMA for Java: a host that reads and writes namespaces of other machines, and a target that serves them.
 *
 * <p>Run with {@code --enable-native-access=org.rdmapanama.ffm}.
 */
module org.rdmapanama.nvme {
    requires static com.google.errorprone.annotations;
    requires static org.jspecify;
    requires org.apache.logging.log4j;
    requires transitive org.rdmapanama.cm;

    exports org.rdmapanama.nvme;
}
