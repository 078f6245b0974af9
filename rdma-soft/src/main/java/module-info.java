/**
 * A software RDMA device in Java that speaks RoCEv2: where this module is on the path, {@code DeviceList} has it as
 * {@code soft0}.
 */
module org.rdmapanama.soft {
    requires jdk.net;
    requires org.apache.logging.log4j;
    requires org.rdmapanama;
    requires org.rdmapanama.ffm;

    provides org.rdmapanama.internal.provider.Provider with
            org.rdmapanama.soft.SoftProvider;
}
