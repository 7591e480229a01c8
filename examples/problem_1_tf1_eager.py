"""How do I keep one weight out of the gradient step? The TF1 script of the question, in eager mode.

Two things differ from a script for TensorFlow 1: the import of `tf`, and `fc.freeze` in place of a mask made by hand.
It runs on TensorFlow 1.13 to the newest.
"""

import numpy as np

import freezecompat as fc
from freezecompat import tf1 as tf

tf.enable_eager_execution()

model = tf.keras.Sequential(
    [
        tf.keras.layers.Dense(2, activation=tf.sigmoid, input_shape=(2,)),
        tf.keras.layers.Dense(2, activation=tf.sigmoid),
    ]
)

# Set initial weights
weights = [
    np.array([[0, 0.25], [0.2, 0.3]]),
    np.array([0.35, 0.35]),
    np.array([[0.4, 0.5], [0.45, 0.55]]),
    np.array([0.6, 0.6]),
]
model.set_weights(weights)

features = tf.convert_to_tensor([[0.05, 0.10]])
labels = tf.convert_to_tensor([[0.01, 0.99]])


# Define loss function
def loss(model, x, y):
    y_ = model(x)
    return tf.losses.mean_squared_error(labels=y, predictions=y_)


# Define gradient calculation
def grad(model, inputs, targets):
    with tf.GradientTape() as tape:
        loss_value = loss(model, inputs, targets)
    return loss_value, tape.gradient(loss_value, model.trainable_variables)


# Optimizer and global step
optimizer = tf.train.GradientDescentOptimizer(learning_rate=0.01)
global_step = tf.train.get_or_create_global_step()

# Element (0, 0) of the first trainable variable, the kernel of the first layer
frozen = fc.freeze(model, [("#0", (0, 0))], optimizer=optimizer)

# Training loop
epochs = 10
for epoch in range(epochs):
    loss_value, grads = grad(model, features, labels)
    optimizer.apply_gradients(zip(grads, model.trainable_variables), global_step=global_step)
    print("Epoch {}, Loss: {:.4f}".format(epoch + 1, loss_value.numpy()))

print("First Dense kernel weights after training:\n", model.get_weights()[0])

trained = model.get_weights()
moved = [(new != old.astype(np.float32)).tolist() for new, old in zip(trained, weights)]
assert trained[0][0, 0] == 0.0
assert moved == [[[False, True], [True, True]], [True, True], [[True, True], [True, True]], [True, True]]
assert global_step.numpy() == 10
frozen.verify()
