//! Runs the node labeler: `node-labeler --help`.

use kubewright::Manager;
use node_labeler::controller::NodeLabeler;

#[tokio::main]
async fn main() -> kubewright::Result<()> {
    Manager::from_args("node-labeler")
        .register(NodeLabeler::register)
        .run()
        .await
}
