/**
 * A software RDMA device in Java that speaks RoCEv2. If this module is on the module path or class path, {@code
 * DeviceList} contains it as {@code soft0}.
 */
// The module that it exports to is compiled later.
@SuppressWarnings("module")
module org.rdmapanama.soft {
    requires jdk.jfr;
    requires jdk.net;
    requires org.apache.logging.log4j;
    requires org.rdmapanama;
    requires org.rdmapanama.ffm;

    // For the samples that print captured packets.
    exports org.rdmapanama.soft.memory to
            org.rdmapanama.samples;
    exports org.rdmapanama.soft.wire to
            org.rdmapanama.samples;

    provides org.rdmapanama.internal.provider.Provider with
            org.rdmapanama.soft.provider.SoftProvider;
}
