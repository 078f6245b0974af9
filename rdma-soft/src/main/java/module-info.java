/**
 * A software RDMA device in Java that speaks RoCEv2: where this module is on the path, {@code DeviceList} has it as
 * {@code soft0}.
 */
// The module that it exports to is compiled later.
@SuppressWarnings("module")
module org.rdmapanama.soft {
    requires jdk.net;
    requires org.apache.logging.log4j;
    requires org.rdmapanama;
    requires org.rdmapanama.ffm;

    // To show what was captured.
    exports org.rdmapanama.soft.wire to
            org.rdmapanama.samples;

    provides org.rdmapanama.internal.provider.Provider with
            org.rdmapanama.soft.SoftProvider;
}
