/**
 * RDMA connections for Java: the connection manager librdmacm, and byte streams over RDMA (rsockets).
 *
 * <p>Run with {@code --enable-native-access=org.rdmapanama.ffm}.
 */
module org.rdmapanama.cm {
    requires static com.google.errorprone.annotations;
    requires static org.jspecify;
    requires jdk.jfr;
    requires jdk.net;
    requires org.apache.logging.log4j;
    requires transitive org.rdmapanama;
    requires org.rdmapanama.ffm;

    exports org.rdmapanama.cm;
    exports org.rdmapanama.rsocket;

    uses org.rdmapanama.internal.provider.Provider;
}
