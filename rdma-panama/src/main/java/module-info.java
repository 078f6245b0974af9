/**
 * RDMA verbs for Java, called through java.lang.foreign.
 *
 * <p>Run with {@code --enable-native-access=org.rdmapanama.ffm}.
 */
// The modules that it exports to are compiled later.
@SuppressWarnings("module")
module org.rdmapanama {
    requires static com.google.errorprone.annotations;
    requires static org.jspecify;
    // For the bean, which only a program that asks for it has.
    requires static java.management;
    requires jdk.jfr;
    requires org.apache.logging.log4j;
    requires org.rdmapanama.ffm;

    exports org.rdmapanama;
    exports org.rdmapanama.address;
    exports org.rdmapanama.completion;
    exports org.rdmapanama.counts;
    exports org.rdmapanama.device;
    exports org.rdmapanama.event;
    exports org.rdmapanama.flow;
    exports org.rdmapanama.management;
    exports org.rdmapanama.memory;
    exports org.rdmapanama.pool;
    exports org.rdmapanama.queue;
    exports org.rdmapanama.internal to
            org.rdmapanama.efa,
            org.rdmapanama.mlx5;
    exports org.rdmapanama.internal.provider to
            org.rdmapanama.cm,
            org.rdmapanama.efa,
            org.rdmapanama.mlx5,
            org.rdmapanama.nvme,
            org.rdmapanama.soft;

    // Only to see whether there is one.
    uses org.apache.logging.log4j.spi.Provider;
    uses org.rdmapanama.internal.provider.DirectPath.Finder;
    uses org.rdmapanama.internal.provider.Provider;
}
