/** Micrometer's meters of devices, queue pairs, pools and servers. */
@SuppressWarnings({"requires-automatic", "requires-transitive-automatic"}) // Micrometer is no named module
module org.rdmapanama.micrometer {
    requires static com.google.errorprone.annotations;
    requires static org.jspecify;
    requires transitive org.rdmapanama;
    requires transitive org.rdmapanama.cm;
    requires transitive micrometer.core;

    exports org.rdmapanama.micrometer;
}
