package org.rdmapanama.internal.provider;

/**
 * What is known of a device before it is opened.
 *
 * @param provider the provider of the device
 * @param name kernel name, such as {@code mlx5_0}
 * @param nodeType a value of {@code enum ibv_node_type}
 * @param transportType a value of {@code enum ibv_transport_type}
 * @param guid node GUID in host byte order
 * @param index kernel index, or -1 when it has none
 * @param deviceFile name of the character device, such as {@code uverbs0}, or empty when it has none
 */
public record ProviderDevice(
        Provider provider, String name, int nodeType, int transportType, long guid, int index, String deviceFile) {}
