package org.rdmapanama;

import org.rdmapanama.internal.provider.ProviderContext;

/**
 * Encrypting or decrypting packets of IPsec, {@code struct ibv_flow_action}: done to those packets that a
 * {@link FlowRule} with {@link FlowSpecification.Apply} of it matches.
 *
 * <p>Threads: as its {@link VerbsArena} says.
 */
public final class FlowActionEsp extends ContextObject {
    static final Ending ENDING = new Ending("ibv_destroy_flow_action", ProviderContext::destroyFlowAction);

    private static final String CAPABILITY =
            "a driver with IPsec, such as mlx5 on some devices and kernels: no DeviceCapability tells, only this call";

    private FlowActionEsp(Context context, long address) {
        super(context, address, context);
    }

    static FlowActionEsp create(Context context, FlowActionEspOptions options) {
        try (FlowActionEspOptions.Encoded encoded = options.encode()) {
            return context.create(
                    "ibv_create_flow_action_esp",
                    ENDING,
                    options.toString(),
                    null,
                    CAPABILITY,
                    () -> context.provider().createFlowActionEsp(encoded.address()),
                    action -> new FlowActionEsp(context, action));
        }
    }

    /**
     * Makes an action for one that other code of this process has made.
     *
     * @param context the open device that it was made on
     * @param nativeAddress address of the {@code struct ibv_flow_action}
     * @param ownership whether closing this object ends the native one
     * @return the action
     * @throws IllegalArgumentException when the address is 0 or has an object already
     * @throws NullPointerException when an argument is null
     * @throws IllegalStateException when the context is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public static FlowActionEsp ofNativeAddress(Context context, long nativeAddress, Ownership ownership) {
        return context.wrap(nativeAddress, ownership, action -> new FlowActionEsp(context, action));
    }

    /**
     * Changes what is done, for example the upper half of the sequence number; the verb is
     * {@code ibv_modify_flow_action_esp}.
     *
     * @param options what to change; what is not set stays as it is
     * @throws NullPointerException when it is null
     * @throws VerbsException when the verb fails
     * @throws UnsupportedVerbException when the device does not have it
     * @throws IllegalStateException when this is closed
     * @throws WrongThreadException when the arena is confined to another thread
     *
     * @verb ibv_modify_flow_action_esp
     */
    public void modify(FlowActionEspOptions options) {
        try (FlowActionEspOptions.Encoded encoded = options.encode()) {
            enter();
            try {
                context.check(
                        "ibv_modify_flow_action_esp",
                        provider.modifyFlowActionEsp(address, encoded.address()),
                        options.toString(),
                        CAPABILITY);
            } finally {
                exit();
            }
        }
    }

    @Override
    Ending ending() {
        return ENDING;
    }

    @Override
    int closingOrder() {
        return 3;
    }

    /** The device. */
    @Override
    public String toString() {
        return "ESP flow action of " + context;
    }
}
